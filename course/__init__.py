"""GPUs and FlashAttention: the package behind the course.

Only the standard library may be imported here: ``python3 -m course`` runs before anything else is
installed.
"""

from pathlib import Path

#: The folder that holds the whole course: course/, notebooks/, assignments/ and the rest.
ROOT = Path(__file__).resolve().parent.parent
