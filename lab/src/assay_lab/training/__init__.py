"""What only the laboratory trains with: checkpoints on disk, several processes, Muon, packed rows."""
