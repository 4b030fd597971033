import pytest


@pytest.fixture(autouse=True, scope="session")
def cache_folder(tmp_path_factory):
    """Keep the user's own cache out of the tests, and share one among them."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("COURSE_CACHE", str(folder))
        yield folder
