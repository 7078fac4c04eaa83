// A name server for engine tests, run as a program of its own in the network outside: every name has the
// address 192.0.2.7 (RFC 1035: the question is sent back, with one answer that points at its name).
import { createSocket } from 'node:dgram';

const HEADER_BYTES = 12;
const socket = createSocket('udp4');
socket.on('message', (query, from) => {
  // The question: labels up to the empty one, then type and class.
  const end = query.indexOf(0, HEADER_BYTES) + 5;
  const isAddress = query.readUInt16BE(end - 4) === 1;
  const header = Buffer.from(query.subarray(0, HEADER_BYTES));
  header.writeUInt16BE(0x8180, 2);
  header.writeUInt16BE(isAddress ? 1 : 0, 6);
  header.fill(0, 8);
  const answer = Buffer.from([0xc0, HEADER_BYTES, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7]);
  const question = query.subarray(HEADER_BYTES, end);
  socket.send(
    Buffer.concat([header, question, isAddress ? answer : Buffer.alloc(0)]),
    from.port,
    from.address,
  );
});
socket.bind(53, '169.254.169.254', () => process.stdout.write('ready\n'));
process.stdin.resume().once('end', () => process.exit(0));
