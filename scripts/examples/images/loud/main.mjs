// Prints as many MiB as its first argument says, in lines of 64 bytes with their numbers, each seventh
// line to stderr; then the line `the end`.
import { writeSync } from 'node:fs';

const lines = (Number(process.argv[2] ?? 1) * 1024 * 1024) / 64;
const BLOCK = 4096;

for (let first = 0; first < lines; first += BLOCK) {
  const texts = { 1: '', 2: '' };
  for (let line = first; line < Math.min(first + BLOCK, lines); line += 1) {
    texts[line % 7 === 6 ? 2 : 1] += `${String(line).padStart(12, '0')} `
      .padEnd(63, '.')
      .concat('\n');
  }
  write(1, texts[1]);
  write(2, texts[2]);
}
write(1, 'the end\n');

function write(stream, text) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(stream, bytes, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error; // the pipe is full: try again
    }
  }
}
