// The process sandbox's docker: arguments, outputs and exit codes as the docker client documents them.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { example, type Outcome, Sandbox } from '#test/local-cloud/sandbox/sandbox-fixture.ts';

const ECHO = example('echo-args');
const EXIT = example('exit-code');
const SLEEP = example('sleep');
const LOUD = example('loud');

interface Echo {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

const echoOf = ({ stdout }: Outcome): Echo => JSON.parse(stdout);

describe('docker run', () => {
  test('any argument and any value of a variable reaches the container byte for byte', async () => {
    await using sandbox = new Sandbox();
    const words = fc.array(fc.string({ unit: 'binary' }).map((word) => word.replaceAll('\0', '')));
    const run = async (args: readonly string[], value: string) => {
      const outcome = await sandbox.docker(['run', '--rm', '--env', `ODD=${value}`, ECHO, ...args]);
      expect(echoOf(outcome)).toMatchObject({ argv: args, env: { ODD: value } });
    };
    const property = fc.asyncProperty(words, fc.string(), run);
    await fc.assert(property, { seed: 7, numRuns: 5 });
    await run(
      ['', '-e', '--rm', '$(id)', '`id`', '"', "'", '\n', '\\', 'αβ', '{{.}}'],
      'a=b "c"\n$d',
    );
  });

  test("the container's environment is the image's and the caller's, never the host's", async () => {
    await using sandbox = new Sandbox({ HOST_SECRET: 'x', TAKEN: 'by name' });
    const env = ['-e', 'A=1', '-eB=2', '--env=C=', '-e', 'TAKEN', '-e', 'NOT_SET'];
    const outcome = await sandbox.docker(['run', '--rm', ...env, ECHO]);
    const { PATH, HOSTNAME, HOME, TMPDIR, MAYFLY_SANDBOX_ROOT, ...others } = echoOf(outcome).env;
    expect(others).toEqual({ A: '1', B: '2', C: '', TAKEN: 'by name', GREETING: 'from the image' });
    for (const folder of [HOME, TMPDIR]) expect(folder).toContain(`${MAYFLY_SANDBOX_ROOT}/`);
    expect(PATH).not.toBe(process.env.PATH);
    expect(HOSTNAME).toMatch(/^[0-9a-f]{12}$/);
  });

  test("the container works in a copy of the image's folder, or where it is told", async () => {
    await using sandbox = new Sandbox();
    const plain = echoOf(await sandbox.docker(['run', '--name', 'plain', ECHO]));
    expect(plain.cwd).toBe(join(plain.env.MAYFLY_SANDBOX_ROOT ?? '', 'app'));
    expect(readdirSync(plain.cwd)).toEqual(['main.mjs']);
    const entry = ['--entrypoint', 'node', '-w', '/other', ECHO, '-p', 'process.cwd()'];
    const { stdout } = await sandbox.docker(['run', ...entry]);
    expect(stdout.trim()).toMatch(/\/root\/other$/);
  });

  test('mounts are found under the folder that stands for the root', async () => {
    await using sandbox = new Sandbox();
    const input = join(sandbox.folder, 'in,1.csv');
    writeFileSync(input, 'of the machine');
    const program = `const fs = require('node:fs'); const root = process.env.MAYFLY_SANDBOX_ROOT;
      fs.writeFileSync(root + '/out/copy', fs.readFileSync(root + '/data/in,1.csv'));
      fs.writeFileSync(root + '/scratch/x', ''); console.log('done')`;
    const mounts = [
      ...['--mount', `type=bind,"source=${input}","target=/data/in,1.csv",readonly`],
      ...['-v', `${sandbox.folder}/out:/out:rw`, '--tmpfs', '/scratch:size=1m'],
    ];
    const outcome = await sandbox.docker([
      'run',
      ...mounts,
      '--entrypoint=node',
      ECHO,
      '-e',
      program,
    ]);
    expect(outcome).toMatchObject({ code: 0, stdout: 'done\n' });
    expect(readFileSync(join(sandbox.folder, 'out', 'copy'), 'utf8')).toBe('of the machine');
  });

  test('a mount inside of another mount is refused, and writes nothing there', async () => {
    await using sandbox = new Sandbox();
    mkdirSync(join(sandbox.folder, 'a'));
    const mounts = ['-v', `${sandbox.folder}/a:/a`, '-v', `${sandbox.folder}/b:/a/b`];
    const outcome = await sandbox.docker(['run', '--name', 'nested', ...mounts, ECHO]);
    expect(outcome.code).toBe(125);
    expect(outcome.stderr).toContain('cannot mount /a/b inside of another mount');
    expect(readdirSync(join(sandbox.folder, 'a'))).toEqual([]);
    expect((await sandbox.docker(['ps', '-aq'])).stdout).toBe('');
  });

  test.each([0, 1, 37, 125, 255])('exit code %i comes through run and wait', async (code) => {
    await using sandbox = new Sandbox();
    expect((await sandbox.docker(['run', '--name', 'job', EXIT, String(code)])).code).toBe(code);
    expect((await sandbox.docker(['wait', 'job'])).stdout).toBe(`${code}\n`);
    const format = '{{.State.ExitCode}} {{.State.OOMKilled}} {{.State.Status}}';
    const { stdout } = await sandbox.docker(['inspect', '--format', format, 'job']);
    expect(stdout).toBe(`${code} false exited\n`);
  });

  test('an unknown image is a missing manifest: what is missing and what to do', async () => {
    await using sandbox = new Sandbox();
    for (const [words, code] of [
      [['pull', '--quiet', 'ghcr.io/a/b:2'], 1],
      [['run', 'ghcr.io/a/b:2'], 125],
    ] as const) {
      const outcome = await sandbox.docker(words);
      expect(outcome).toMatchObject({ code, stdout: '' });
      expect(outcome.stderr).toMatch(
        /ghcr\.io\/a\/b:2 not found: manifest unknown: no container engine answers/,
      );
      expect(outcome.stderr).toContain('start Docker until "docker info" succeeds');
      expect(outcome.stderr.trim().split('\n')).toHaveLength(1);
    }
  });

  test('a program that does not exist is 127, one that may not run 126', async () => {
    await using sandbox = new Sandbox();
    const missing = await sandbox.docker(['run', '-d', '--entrypoint', 'nope', ECHO]);
    expect(missing.code).toBe(127);
    expect(missing.stderr).toContain('exec: "nope": executable file not found in $PATH');
    const denied = await sandbox.docker(['run', '--entrypoint', './main.mjs', ECHO]);
    expect(denied.code).toBe(126);
  });

  test('a taken name is refused with 125, and free again after rm', async () => {
    await using sandbox = new Sandbox();
    await sandbox.docker(['run', '-d', '--name', 'job', SLEEP, '1000']);
    const second = await sandbox.docker(['run', '-d', '--name', 'job', SLEEP]);
    expect(second.code).toBe(125);
    expect(second.stderr).toMatch(
      /^docker: Error response from daemon: Conflict\. The container name "\/job"/,
    );
    expect((await sandbox.docker(['rm', 'job'])).code).toBe(1);
    expect(await sandbox.docker(['rm', '--force', 'job'])).toMatchObject({
      code: 0,
      stdout: 'job\n',
    });
    expect((await sandbox.docker(['run', '--name', 'job', EXIT])).code).toBe(0);
  });

  test('an unknown flag is refused, never ignored', async () => {
    await using sandbox = new Sandbox();
    const outcome = await sandbox.docker(['run', '--no-such-flag', ECHO]);
    expect(outcome).toMatchObject({ code: 125, stderr: 'unknown flag: --no-such-flag\n' });
  });

  test("the guest's whole command line is accepted", async () => {
    await using sandbox = new Sandbox();
    const flags = [
      ...[
        '--init',
        '--log-driver',
        'local',
        '--log-opt',
        'max-size=16m',
        '--log-opt',
        'max-file=2',
      ],
      ...[
        '--security-opt',
        'no-new-privileges',
        '--pids-limit',
        '4096',
        '--memory=1g',
        '--shm-size',
      ],
      ...['64m', '--cap-drop', 'ALL', '--cap-add', 'CHOWN', '--gpus', 'all', '--network', 'host'],
    ];
    const outcome = await sandbox.docker(['run', '--detach', ...flags, EXIT, '5']);
    expect(outcome.stdout).toMatch(/^[0-9a-f]{64}\n$/);
    expect((await sandbox.docker(['wait', outcome.stdout.trim()])).stdout).toBe('5\n');
  });

  test('in the foreground signals go to the container', async () => {
    await using sandbox = new Sandbox();
    const client = sandbox.spawn(['run', SLEEP, '1000', 'exit-9']);
    const ended = new Promise((resolve) => client.once('close', resolve));
    client.stdout.once('data', () => client.kill('SIGTERM'));
    expect(await ended).toBe(9);
  });
});

describe('docker stop and kill', () => {
  test('stop sends TERM, and KILL when the time is up', async () => {
    await using sandbox = new Sandbox();
    for (const [name, atTerm] of [
      ['polite', 'exit-7'],
      ['deaf', 'ignore'],
      ['plain', 'die'],
    ] as const) {
      await sandbox.docker(['run', '-d', '--name', name, SLEEP, '1000', atTerm]);
      await started(sandbox, name);
    }
    const outcome = await sandbox.docker(['stop', '-t', '1', 'polite', 'deaf', 'plain']);
    expect(outcome.stdout).toBe('polite\ndeaf\nplain\n');
    expect((await sandbox.docker(['wait', 'polite', 'deaf', 'plain'])).stdout).toBe(
      '7\n137\n143\n',
    );
    expect((await sandbox.docker(['logs', 'deaf'])).stdout).toContain('TERM: ignore');
  });

  test('kill sends the signal that is asked for', async () => {
    await using sandbox = new Sandbox();
    await sandbox.docker(['run', '-d', '--name', 'job', SLEEP, '1000']);
    await started(sandbox, 'job');
    await sandbox.docker(['kill', '--signal', 'INT', 'job']);
    expect((await sandbox.docker(['wait', 'job'])).stdout).toBe('130\n');
    const again = await sandbox.docker(['kill', 'job']);
    expect(again.code).toBe(1);
    expect(again.stderr).toMatch(/is not running/);
  });

  test('a container takes along what its main process leaves behind', async () => {
    await using sandbox = new Sandbox();
    const program = `const { spawn } = require('node:child_process');
      const options = { detached: true, stdio: 'inherit' };
      console.log(spawn('sleep', ['1004'], options).pid); process.exit(3)`;
    const outcome = await sandbox.docker(['run', '--entrypoint', 'node', ECHO, '-e', program]);
    expect(outcome.code).toBe(3);
    const left = execFileSync('ps', ['-axww', '-o', 'stat=,command='], { encoding: 'utf8' });
    expect(left.split('\n').filter((line) => /^[^Z].*sleep 1004/.test(line))).toEqual([]);
  });
});

describe('docker logs', () => {
  test('both streams come through, now and later', async () => {
    await using sandbox = new Sandbox();
    const program = 'console.log(1); console.error(2); console.log(3); console.log("4\\n5")';
    const run = ['run', '--name', 'job', '--entrypoint', 'node', ECHO, '-e', program];
    expect(await sandbox.docker(run)).toMatchObject({ stdout: '1\n3\n4\n5\n', stderr: '2\n' });
    const all = await sandbox.docker(['logs', 'job']);
    expect(all).toMatchObject({ stdout: '1\n3\n4\n5\n', stderr: '2\n' });
  });

  test('--tail gives the last lines, the newline at the end not counted as one more', async () => {
    await using sandbox = new Sandbox();
    const program = 'console.log("1\\n2"); console.log("3\\n\\n5")';
    await sandbox.docker(['run', '--name', 'job', '--entrypoint', 'node', ECHO, '-e', program]);
    const tail = async (count: string) =>
      (await sandbox.docker(['logs', `--tail=${count}`, 'job'])).stdout;
    expect(await tail('1')).toBe('5\n');
    expect(await tail('3')).toBe('3\n\n5\n');
    expect(await tail('99')).toBe('1\n2\n3\n\n5\n');
    expect(await tail('0')).toBe('');
  });

  test('a loud container has a bounded log that keeps the end', async () => {
    await using sandbox = new Sandbox();
    await sandbox.docker(['run', '-d', '--name', 'job', LOUD, '64']);
    expect((await sandbox.docker(['wait', 'job'])).stdout).toBe('0\n');
    const { stdout } = await sandbox.docker(['logs', 'job']);
    expect(stdout.slice(-100)).toMatch(/\n0+1048575 \.+\nthe end\n$/);
    const [id = ''] = readdirSync(join(sandbox.folder, 'docker', 'containers'));
    const log = join(sandbox.folder, 'docker', 'containers', id, 'log');
    const bytes = readdirSync(log).map((name) => statSync(join(log, name)).size);
    expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(10 * 1024 * 1024);
  });

  test('--timestamps puts the time in front of each line, also of one that came in two parts', async () => {
    await using sandbox = new Sandbox();
    const program =
      'process.stdout.write("a\\nb"); setTimeout(() => console.log("c\\nd"), 60); console.error("e")';
    const before = Date.now();
    await sandbox.docker(['run', '--name', 'job', '--entrypoint', 'node', ECHO, '-e', program]);
    const stamp = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z) /;
    for (const words of [
      ['logs', '--timestamps', 'job'],
      ['logs', '--follow', '-t', 'job'],
    ]) {
      const { stdout, stderr } = await sandbox.docker(words);
      const lines = [...stdout.split('\n').slice(0, -1), ...stderr.split('\n').slice(0, -1)];
      expect(lines.map((line) => line.replace(stamp, ''))).toEqual(['a', 'bc', 'd', 'e']);
      for (const line of lines) {
        const atMs = Date.parse(stamp.exec(line)?.[1] ?? '');
        expect(atMs).toBeGreaterThanOrEqual(before);
        expect(atMs).toBeLessThanOrEqual(Date.now());
      }
    }
  });

  test('--follow ends with the container and has everything', async () => {
    await using sandbox = new Sandbox();
    await sandbox.docker(['run', '-d', '--name', 'job', SLEEP, '0.5']);
    const { stdout } = await sandbox.docker(['logs', '--follow', 'job']);
    expect(stdout).toBe('sleeping\ndone\n');
  });
});

describe('images and registries', () => {
  test('an image is known by tag and by its digest, once it is pulled', async () => {
    await using sandbox = new Sandbox();
    expect((await sandbox.docker(['image', 'inspect', ECHO])).code).toBe(1);
    expect((await sandbox.docker(['pull', '--quiet', ECHO])).stdout).toBe(`${ECHO}\n`);
    const format = '{{range .RepoDigests}}{{.}} {{end}}';
    const { stdout } = await sandbox.docker(['image', 'inspect', '--format', format, ECHO]);
    expect(stdout).toMatch(/^mayfly\.local\/examples\/echo-args@sha256:[0-9a-f]{64} \n$/);
    expect((await sandbox.docker(['run', stdout.trim(), 'x'])).code).toBe(0);
    const other = stdout.trim().replace(/.$/, (digit) => (digit === '0' ? '1' : '0'));
    expect((await sandbox.docker(['pull', other])).stderr).toContain('manifest unknown');
  });

  test('login keeps what docker keeps, and logout removes it', async () => {
    await using sandbox = new Sandbox();
    const env = { DOCKER_CONFIG: join(sandbox.folder, 'config') };
    const user = ['--username', 'oauth2accesstoken', '--password-stdin'];
    const login = ['login', ...user, 'https://europe-docker.pkg.dev'];
    const outcome = await sandbox.docker(login, { env, stdin: 'the-token' });
    expect(outcome).toMatchObject({ code: 0, stdout: 'Login Succeeded\n' });
    const file = join(env.DOCKER_CONFIG, 'config.json');
    // From a real client's config.json: base64 of user:password under the host.
    expect(JSON.parse(readFileSync(file, 'utf8')).auths).toEqual({
      'europe-docker.pkg.dev': { auth: 'b2F1dGgyYWNjZXNzdG9rZW46dGhlLXRva2Vu' },
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await sandbox.docker(['logout', 'https://europe-docker.pkg.dev'], { env });
    expect(JSON.parse(readFileSync(file, 'utf8')).auths).toEqual({});
    expect((await sandbox.docker(login, { env })).code).toBe(1);
  });

  test('what does not exist is refused in words of docker', async () => {
    await using sandbox = new Sandbox();
    const wait = await sandbox.docker(['wait', 'nobody']);
    expect(wait).toMatchObject({
      code: 1,
      stderr: 'Error response from daemon: No such container: nobody\n',
    });
    const inspect = await sandbox.docker(['inspect', 'nobody']);
    expect(inspect).toMatchObject({
      code: 1,
      stdout: '[]\n',
      stderr: 'Error: No such object: nobody\n',
    });
    expect((await sandbox.docker(['rm', '-f', 'nobody'])).code).toBe(0);
    expect((await sandbox.docker(['compose', 'up'])).stderr).toContain(
      "'compose' is not a command",
    );
  });

  test('a container of an earlier boot has ended with 255', async () => {
    await using sandbox = new Sandbox();
    await sandbox.docker(['run', '-d', '--name', 'job', SLEEP, '1000']);
    const env = { MAYFLY_SANDBOX_BOOT: 'boot-2' };
    expect((await sandbox.docker(['wait', 'job'], { env })).stdout).toBe('255\n');
    expect((await sandbox.docker(['ps', '-q'], { env })).stdout).toBe('');
    expect(existsSync(join(sandbox.folder, 'docker', 'names', 'job'))).toBe(true);
  });
});

/** Resolves when the container has said its first line. */
async function started(sandbox: Sandbox, name: string): Promise<void> {
  const client = sandbox.spawn(['logs', '--follow', name]);
  await new Promise((resolve) => client.stdout.once('data', resolve));
  client.kill('SIGKILL');
}
