"""Caches where home or installation cannot be written."""

import os
from pathlib import Path

from robodyn_pin.closures import kernel_choice
from robodyn_pin.storage import caches


def test_without_a_folder_for_compiled_kernels_pinocchio_computes(tmp_path, monkeypatch, caplog):
    """Neither installation, home nor temporary files can be written: one line, and no kernels."""
    monkeypatch.setattr(caches, "can_be_written", lambda folder: False)
    monkeypatch.setattr(caches, "spare_folder", lambda: None)
    kernel_choice.installed.cache_clear()
    try:
        assert not kernel_choice.installed()
        assert not kernel_choice.chosen(1000)
    finally:
        kernel_choice.installed.cache_clear()
    (said,) = caplog.records
    assert (said.name, said.levelname) == ("robodyn_pin", "WARNING")
    assert "NUMBA_CACHE_DIR" in said.message


def test_a_folder_is_tried_whatever_its_permissions_say(tmp_path):
    (tmp_path / "file").touch()
    assert caches.can_be_written(tmp_path / "not" / "yet")
    assert not caches.can_be_written(tmp_path / "file")
    assert not caches.can_be_written(Path("/proc/1"))
    assert not caches.can_be_written(Path("~"))  # there is no home


def test_the_command_line_points_caches_elsewhere_without_a_home(tmp_path, monkeypatch):
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, "/proc/1/x")
    monkeypatch.delenv("MPLCONFIGDIR", raising=False)
    monkeypatch.setattr(caches, "spare_folder", lambda: tmp_path)
    caches.spare_caches()
    assert {os.environ[name] for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME")} == {str(tmp_path)}
    assert os.environ["MPLCONFIGDIR"] == str(tmp_path / "matplotlib")
    monkeypatch.delenv("MPLCONFIGDIR")
