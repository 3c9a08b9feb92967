"""Reports: a folder with a self-contained page, the pictures and the tables."""

from ackclock.report.files import write_json, write_whole
from ackclock.report.folders import FolderError, check_folder, new_folder, page_of, resumable_folder
from ackclock.report.host import host
from ackclock.report.page import FORMATS, Page, png
from ackclock.report.text import markdown, number

__all__ = [
    "FORMATS",
    "FolderError",
    "Page",
    "check_folder",
    "host",
    "markdown",
    "new_folder",
    "number",
    "page_of",
    "png",
    "resumable_folder",
    "write_json",
    "write_whole",
]
