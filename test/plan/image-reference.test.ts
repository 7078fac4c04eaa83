import { describe, expect, test } from 'vitest';
import { hostMatches, parseImageReference } from '#shared/plan/image-reference.ts';
import { faultsOf, makeRequest } from '#test/plan/fixtures.ts';

const SHA = 'a'.repeat(64);

/** Host and path as docker resolves them (github.com/distribution/reference, its own test table). */
const VALID = [
  { image: 'alpine', host: 'docker.io', path: 'alpine', tag: null, digest: null },
  { image: 'library/alpine:3.20', host: 'docker.io', path: 'library/alpine', tag: '3.20' },
  { image: 'localhost:5000/team/api', host: 'localhost:5000', path: 'team/api', tag: null },
  { image: '10.0.0.5:5001/gearman', host: '10.0.0.5:5001', path: 'gearman', tag: null },
  { image: 'localhost/x', host: 'localhost', path: 'x', tag: null },
  { image: 'test.com:8000/foo:tag', host: 'test.com:8000', path: 'foo', tag: 'tag' },
  { image: `ghcr.io/acme/app@sha256:${SHA}`, host: 'ghcr.io', digest: `sha256:${SHA}` },
  { image: `h.com/a:1@sha256:${SHA}`, host: 'h.com', tag: '1', digest: `sha256:${SHA}` },
  { image: 'ghcr.io/acme/forecast:Nightly-A', host: 'ghcr.io', tag: 'Nightly-A' },
  { image: 'europe-docker.pkg.dev/p/r/a_b.c-d__e', path: 'p/r/a_b.c-d__e' },
  { image: '[2001:db8::1]:5000/x', host: '[2001:db8::1]:5000', path: 'x' },
  { image: 'foo:5000', host: 'docker.io', path: 'foo', tag: '5000' },
];

describe('references', () => {
  test.each(VALID)('A30: $image is taken apart as docker does it', ({ image, ...parts }) => {
    expect(parseImageReference(image)).toMatchObject({ kind: 'valid', ...parts });
    expect(makeRequest({ image }).image).toBe(image);
  });

  test('P05: a port is no tag: the host keeps it, and the reference stays unchanged', () => {
    expect(parseImageReference('localhost:5000/team/api')).toEqual({
      kind: 'valid',
      host: 'localhost:5000',
      path: 'team/api',
      tag: null,
      digest: null,
    });
    expect(hostMatches('localhost:5000', ['localhost:5000'])).toBe(true);
    expect(hostMatches('localhost:5000', ['localhost'])).toBe(false);
  });

  test('P07: capitals in the path are refused with the lower-case form, in the tag they stand', () => {
    const [fault] = faultsOf({ image: 'ghcr.io/Acme/Forecast:latest' });
    expect(fault?.rule).toContain('"Acme"');
    expect(fault?.accepted).toBe('ghcr.io/acme/forecast:latest');
    expect(faultsOf({ image: 'ghcr.io/acme/forecast:Nightly-A' })).toEqual([]);
  });

  test.each([
    '',
    ' alpine',
    'alpine:',
    'alpine:a b',
    'a//b',
    '/a',
    'a/',
    'a..b',
    '-a',
    'a@sha256:abc',
    `a@sha256:${SHA}@sha256:${SHA}`,
    `a@md5:${SHA}`,
    'https://h.com/a',
    SHA,
    'h.com:port/a',
    `h.com/${'a'.repeat(256)}`,
    'a/b\n',
    '$(id)',
    `a:${'t'.repeat(129)}`,
  ])('D35: %.40j is refused', (image) => {
    expect(faultsOf({ image }).map(({ field }) => field)).toEqual(['image']);
  });
});

describe('hosts that get a token', () => {
  const hosts = ['*-docker.pkg.dev', 'gcr.io', '*.gcr.io'];
  test.each([
    { host: 'europe-docker.pkg.dev', right: true },
    { host: 'europe-west1-docker.pkg.dev', right: true },
    { host: 'gcr.io', right: true },
    { host: 'eu.gcr.io', right: true },
    { host: 'docker.io', right: false },
    { host: 'ghcr.io', right: false },
    { host: 'a.b.gcr.io', right: false },
    { host: 'evil.com.europe-docker.pkg.dev.evil.com', right: false },
    { host: 'x.y-docker.pkg.dev', right: false },
    { host: '-docker.pkg.dev', right: false },
    { host: 'gcr.io:444', right: false },
    { host: 'gcrxio', right: false },
  ])('D35: $host is one of ours: $right', ({ host, right }) => {
    expect(hostMatches(host, hosts)).toBe(right);
  });
});
