"""Draw the pictures that the README and docs/ show: ``python3 -m course.figures``."""

from course import ROOT, syllabus
from course.figures import course_map, toolchain
from course.figures.display import as_svg

PICTURES = {
    "docs/course_map.svg": lambda: course_map(syllabus.PARTS),
    "docs/toolchain.svg": toolchain,
}


def main() -> None:
    """Write every picture of `PICTURES` to its place."""
    for name, draw in PICTURES.items():
        (ROOT / name).write_text(as_svg(draw()), encoding="utf-8", newline="\n")
        print(name)


if __name__ == "__main__":
    main()
