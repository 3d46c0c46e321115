"""The transformers engine against plain passes of the libraries it is made from."""

import shutil
from dataclasses import replace

import pytest
import torch
from conftest_serve import placeholder  # noqa
