"""Reading and changing files byte for byte, inside the workspace, without losing anything they carry."""
