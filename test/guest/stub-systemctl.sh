#!/bin/bash
# Plays `systemctl is-system-running`: the machine is what the file system-state says.
cat "$STUB/system-state" 2>/dev/null || echo running
