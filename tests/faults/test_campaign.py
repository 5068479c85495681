"""The long part of the campaign: kills at random moments. UEGR_KILLS says how many; the campaign takes 1,000."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.faults import processes
from tests.faults.campaign import Campaign, kills
from tests.faults.world import build

KILLS = int(os.environ.get("UEGR_KILLS", "100"))


def test_a_process_that_is_killed_before_it_opens_its_log_has_printed_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "redirect", lambda log: os.kill(os.getpid(), signal.SIGKILL))
    ended = processes.Running(["list", "methods"], tmp_path / "1.log").ended()
    assert (ended.code, ended.output) == (-signal.SIGKILL, "")


@pytest.mark.slow
def test_random_kills_lose_nothing_and_change_no_weight(tmp_path: Path) -> None:
    def record(found: dict[str, Any]) -> None:
        (tmp_path / "counts.json").write_text(json.dumps(found, indent=1))

    (tmp_path / "home").mkdir()
    build(tmp_path / "home")
    campaign = Campaign(tmp_path / "home", tmp_path / "place", record)
    kills(campaign, KILLS)
    assert sum(campaign.count(work) for work in campaign.found) >= KILLS
    assert {work: entry["wrong"] for work, entry in campaign.found.items() if "wrong" in entry} == {}
