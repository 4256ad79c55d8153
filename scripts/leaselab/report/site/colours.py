"""Colours of marks in charts: one colour, one meaning.

They are of Okabe and Ito's palette, shifted so that each can be read on white and on dark
ground; they are distinguishable with colour blindness.  Worse and better also differ in their
words.  Text, axes and grid are left to the style sheet.
"""

MEASURED = "#3a87c8"
"""What was measured, where nothing is judged; of two, the newer."""
WORSE = "#d1495b"
BETTER = "#1b9e77"
"""A change that was seen; likewise a trial that passed, and the best of several."""
DOUBT = "#e08a1e"
"""Suspected and not confirmed; a trial that failed."""
ASIDE = "#8a8a8a"
"""What is compared with, what does not count, and lines that figures are seen against."""
LOOKS = {"worse": WORSE, "better": BETTER, "same": MEASURED, "unknown": ASIDE}
"""Of changes, by what they are."""
SERIES = (MEASURED, "#b06fb0", "#2fa4a8", "#9a7b4f", "#d883a4", "#6f7fd1")
"""Of several things in one chart, in their order; none of these means a judgement."""
