"""Atomic file writes, and model files of plain data."""

from ilspace.storage.error import ModelFileError, naming_file
from ilspace.storage.model_file import read_model, write_model
from ilspace.storage.whole_files import output_folder, whole_file, write_whole
from ilspace.storage.whole_folders import whole_folder
