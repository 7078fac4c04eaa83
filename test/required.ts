// `MAYFLY_TEST_REQUIRE`: the parts of a computer (programs, engines, namespaces) that this run of the
// tests demands, by name and separated by commas. A demanded part that is missing is a failure.
const NAMES = (process.env.MAYFLY_TEST_REQUIRE ?? '').split(',');

export const isRequired = (part: string): boolean => NAMES.includes(part);
