"""Pictures as numbers: files, backbones, features."""

from ilspace.images.backbones import Backbone, make_backbone
from ilspace.images.embedding import Broken, Embedded, embed_files
from ilspace.images.errors import PictureError

__all__ = ["Backbone", "Broken", "Embedded", "PictureError", "embed_files", "make_backbone"]
