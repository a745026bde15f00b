"""The error of pack and unpack."""


class PackError(ValueError):
    """A file or an option that cannot be packed or unpacked. ``str()`` names it and says what to do."""
