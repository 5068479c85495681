"""Made-up texts to click on: opinions, news, questions; no row of any data set."""

SENTENCES = [
    "The plot is thin, but the cast is simply charming.",
    "The parcel came a week late, and the box was crushed.",
    "A dull and noisy film that bored us to tears.",
    "Shares of the bank fell after the minister spoke.",
]
PAIRS = [
    ("A man plays the guitar on a bench in the park.", "Somebody makes music outside."),
    ("The shop is closed on Sundays.", "You can buy bread there on Sunday morning."),
    ("How do I learn to swim as an adult?", "What is the best way to learn swimming?"),
]
