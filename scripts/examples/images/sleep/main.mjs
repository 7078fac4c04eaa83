// Waits for the seconds given (0.1 without an argument). What it does at TERM is the second argument:
// `die` (the default), `exit-N`, or `ignore`.
const [seconds = '0.1', atTerm = 'die'] = process.argv.slice(2);
if (atTerm !== 'die') {
  process.on('SIGTERM', () => {
    console.log(`TERM: ${atTerm}`);
    if (atTerm.startsWith('exit-')) process.exit(Number(atTerm.slice('exit-'.length)));
  });
}
console.log('sleeping');
setTimeout(() => console.log('done'), Number(seconds) * 1000);
