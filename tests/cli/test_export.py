"""`uegr export`: without a format nothing is loaded (tests/runs/test_export.py has the rest)."""


def test_a_format_is_required(uegr, tmp_path):
    code, _, error = uegr("export", tmp_path)
    assert code == 2
    assert error == "expected a format to export to, got none; use --onnx (the run's folder has safetensors)"
