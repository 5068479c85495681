"""Made-up texts to click on: opinions, news, questions; no row of any data set."""

SENTENCES = [
    "The plot is thin, but the cast is so charming that I forgave everything.",
    "The parcel came a week late, and the box was crushed.",
    "I expected little and got even less: a dull, noisy film.",
    "Shares of the bank fell after the minister spoke on Tuesday.",
    "Nice phone, though the battery is empty by noon.",
]
PAIRS = [
    ("A man plays the guitar on a bench in the park.", "Somebody makes music outside."),
    ("The shop is closed on Sundays.", "You can buy bread there on Sunday morning."),
    ("How do I learn to swim as an adult?", "What is the best way for grown-ups to learn swimming?"),
    ("The committee postponed its decision to May.", "The committee has decided."),
]
