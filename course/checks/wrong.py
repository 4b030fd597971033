"""The one exception of all checks, and the one line of success."""

import textwrap


class Wrong(AssertionError):
    """An answer is not right yet. The message is for the student.

    In IPython only the message is shown: a traceback through the checks would help nobody.
    """

    def _render_traceback_(self) -> list[str]:
        return [
            line
            for paragraph in str(self).splitlines()
            for line in textwrap.wrap(paragraph, 96, break_long_words=False) or [""]
        ]


def passed(question: str, detail: str) -> None:
    """Print the one line that a right answer gets; on stdout, where it costs no points."""
    print(f"{question}: right ({detail})")
