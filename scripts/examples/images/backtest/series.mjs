// A monthly series as CSV: a header, then `YYYY-MM,value` in order, one line a month without a gap.

const LINE = /^(\d{4}-(?:0[1-9]|1[0-2])),(\d+(?:\.\d+)?)$/;

/** Ends the program with code 3 for anything else. */
export function readSeries(text) {
  const [, ...lines] = text.trim().split(/\r?\n/);
  const months = [];
  const values = [];
  for (const [index, line] of lines.entries()) {
    const [, month, value] = LINE.exec(line) ?? refuse(index, line, 'YYYY-MM,value is needed');
    const expected = months.length === 0 ? month : nextMonths(months.at(-1), 1)[0];
    if (month !== expected) refuse(index, line, `the month must be ${expected}`);
    if (Number(value) === 0) refuse(index, line, 'a value of 0 has no relative error');
    months.push(month);
    values.push(Number(value));
  }
  return { months, values };
}

/** The `count` months after one. */
export function nextMonths(month, count) {
  const [year, number] = month.split('-').map(Number);
  return Array.from({ length: count }, (_, index) => {
    const total = year * 12 + number + index;
    return `${Math.floor(total / 12)}-${String((total % 12) + 1).padStart(2, '0')}`;
  });
}

function refuse(index, line, rule) {
  console.error(`backtest: line ${index + 2}: ${JSON.stringify(line)}: ${rule}`);
  process.exit(3);
}
