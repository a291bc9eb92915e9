"""`python -m stemcache` is the `stemcache` command."""

from stemcache.cli.main import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
