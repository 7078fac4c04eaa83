// Ends with the exit code given as its first argument (0 without one).
process.exitCode = Number(process.argv[2] ?? 0);
