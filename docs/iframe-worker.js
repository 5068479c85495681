/* The search where pages of the site are opened as files: browsers start no worker there, so it runs in a hidden frame.
   "iframe-worker" in the name of this file keeps the site generator from adding a script of that name from another host. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.body.appendChild(document.createElement("iframe"));
      this.frame.hidden = true;
      const inside = this.frame.contentWindow;
      inside.document.open();
      inside.document.write("<!doctype html><body></body>");
      inside.document.close();
      inside.postMessage = (data) => setTimeout(() => this.onmessage?.({ data }));
      const script = inside.document.createElement("script");
      script.src = new URL(url, document.baseURI);
      this.ready = new Promise((resolve) => (script.onload = resolve));
      script.onerror = () => this.onerror?.(new Event("error"));
      inside.document.body.append(script);
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow?.onmessage({ data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
