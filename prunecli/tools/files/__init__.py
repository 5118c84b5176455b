"""Read and change files byte for byte, inside the workspace, keeping mode, owner, attributes and links."""
