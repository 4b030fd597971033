"""The commands of ``python3 -m course``, one module each; course.cli says what each one has."""
