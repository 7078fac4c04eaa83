// The machines of the local cloud as real processes: what a script finds, and that nothing of a machine
// outlives it. Each claim holds with namespaces and, where they cannot be made, without.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { eventually, HostFixture, namespacesMissing } from '#test/local-cloud/host/host-fixture.ts';

const missing = namespacesMissing();
const SLEEP = 'mayfly.local/examples/sleep:1';

describe.each([
  { isolation: 'namespace', title: 'a machine with namespaces of its own' },
  { isolation: 'process', title: 'a machine as a plain process group' },
] as const)('$title', ({ isolation }) => {
  const skip = isolation === 'namespace' && missing !== null;
  const claim = skip ? test.skip : test;
  if (skip) test.skip(`skipped: no namespaces: ${missing}`, () => {});
  const open = () =>
    HostFixture.open({ isolation, containerGraceSeconds: 0.3, finalGraceMs: 30_000 });

  claim('the startup script runs as it stands in the metadata', async () => {
    await using fixture = await open();
    const machine = fixture.machine('tell script <"$0"\n: αβ "$\\` \n');
    await fixture.host.start(machine);
    expect(await fixture.told('script')).toBe(machine.metadata['startup-script']);
  });

  claim('the end of the startup script does not end the machine', async () => {
    await using fixture = await open();
    await fixture.host.start(
      fixture.machine('(while kill -0 $$; do sleep 0.02; done; echo | tell ended; sleep 100) &'),
    );
    await fixture.told('ended');
    expect(fixture.processes().length).toBeGreaterThan(0);
    expect(fixture.poweredOff).toEqual([]);
  });

  claim('a script reaches its own metadata server and the local cloud', async () => {
    await using fixture = await open();
    await fixture.host.start(
      fixture.machine(
        `curl -s -H "Metadata-Flavor: Google" "http://\${GCE_METADATA_HOST:-169.254.169.254}/x?a=b" | tell got
        echo "\${GCE_METADATA_HOST:-none}" | tell host`,
      ),
    );
    expect(JSON.parse(await fixture.askedMetadata('/x?a=b'))).toMatchObject({
      'metadata-flavor': 'Google',
    });
    expect(await fixture.told('got')).toBe('reply to /x?a=b');
    const host = await fixture.told('host');
    if (isolation === 'namespace') expect(host).toBe('none\n');
    else expect(host).toMatch(/^127\.0\.0\.1:\d+\n$/);
  });

  claim(
    "a script sees its own folders and commands, and nothing of the host's environment",
    async () => {
      await using fixture = await open();
      process.env.MAYFLY_TEST_SECRET = 'of the host';
      await fixture.host.start(
        fixture.machine(
          `echo "$PWD $HOME $TMPDIR \${MAYFLY_TEST_SECRET:-}" | tell folders
          command -v docker systemctl shutdown poweroff reboot | tell commands`,
        ),
      );
      const machine = join(fixture.folder, fixture.machineFolders()[0] ?? '');
      const disk = join(machine, 'disk');
      expect(await fixture.told('folders')).toBe(`${disk} ${disk}/home ${disk}/tmp \n`);
      expect(await fixture.told('commands')).toBe(
        ['docker', 'systemctl', 'shutdown', 'poweroff', 'reboot']
          .map((name) => `${machine}/boot/bin/${name}\n`)
          .join(''),
      );
      delete process.env.MAYFLY_TEST_SECRET;
    },
  );

  claim('a soft-off stops containers, runs the shutdown script, and ends everything', async () => {
    await using fixture = await open();
    const machine = fixture.machine(
      `docker run -d --name polite ${SLEEP} 1000 exit-7
      docker run -d --name deaf ${SLEEP} 1000 ignore
      for name in polite deaf; do read -r < <(docker logs --follow $name); done
      trap 'echo | tell terminated; exit' TERM
      ((docker wait polite deaf; systemctl is-system-running) | tell stopped; touch reported) &
      systemctl is-system-running | tell before
      while :; do sleep 0.02; done`,
      {
        shutdown: `systemctl is-system-running | tell shutdown
          until [[ -e reported ]]; do sleep 0.02; done
          echo | tell shutdown-end`,
      },
    );
    await fixture.host.start(machine);
    expect(await fixture.told('before')).toBe('running\n');
    await fixture.host.softOff(machine.id);
    expect(await fixture.told('shutdown')).toBe('stopping\n');
    expect(await fixture.told('stopped')).toBe('7\n137\nstopping\n');
    await fixture.told('shutdown-end');
    await fixture.told('terminated');
    await eventually(() => fixture.poweredOff.length > 0);
    expect(fixture.poweredOff).toEqual([machine.id]);
    expect(fixture.processes()).toEqual([]);
    expect(fixture.failures).toEqual([]);
  });

  claim('a power cut leaves no process, also none that left its session and group', async () => {
    await using fixture = await open();
    const machine = fixture.machine(
      `trap '' TERM HUP INT
      docker run -d --name deaf ${SLEEP} 1000 ignore
      (trap '' TERM HUP; setsid sleep 1001 & setsid bash -c 'sleep 1002 & wait' &) 
      env -i sleep 1003 &
      echo | tell up
      while :; do sleep 0.02; done`,
    );
    await fixture.host.start(machine);
    await fixture.told('up');
    expect(fixture.processes().length).toBeGreaterThan(4);
    await fixture.host.kill(machine.id);
    expect(fixture.processes()).toEqual([]);
    expect(
      commandLines().filter((line) => /sleep 100[123]|sleep.main\.mjs.1000/.test(line)),
    ).toEqual([]);
    expect(fixture.poweredOff).toEqual([]);
  });

  claim('a power cut during a soft-off ends it, and is not told as a power-off', async () => {
    await using fixture = await open();
    const machine = fixture.machine('echo | tell up', {
      shutdown: 'echo | tell shutdown; sleep 1000',
    });
    await fixture.host.start(machine);
    await fixture.told('up');
    await fixture.host.softOff(machine.id);
    await fixture.told('shutdown');
    await fixture.host.kill(machine.id);
    expect(fixture.processes()).toEqual([]);
    expect(fixture.poweredOff).toEqual([]);
    expect(fixture.failures).toEqual([]);
  });

  claim(
    'a second boot has the same disk, another boot id, and the containers of the first',
    async () => {
      await using fixture = await open();
      const machine = fixture.machine(
        `if [[ ! -e kept ]]; then
        echo of boot 1 >kept
        docker run -d --name job ${SLEEP} 1000
        cat boot-id | tell first
      else
        { cat boot-id kept; docker run --name job ${SLEEP}; echo $?; docker wait job; } 2>&1 | tell second
      fi`,
      );
      await fixture.host.start(machine);
      const firstBootId = (await fixture.told('first')).trim();
      await fixture.host.kill(machine.id);
      await fixture.host.start({ ...machine, boot: 2 });
      const [bootId, kept, refusal, ...codes] = (await fixture.told('second')).trim().split('\n');
      expect(bootId).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      expect(bootId).not.toBe(firstBootId);
      expect(kept).toBe('of boot 1');
      expect(refusal).toContain('The container name "/job" is already in use');
      expect(codes).toEqual(['125', '255']);
    },
  );

  claim('the machine can power itself off', async () => {
    await using fixture = await open();
    const machine = fixture.machine('poweroff; while :; do sleep 0.02; done', {
      shutdown: 'echo | tell shutdown',
    });
    await fixture.host.start(machine);
    await fixture.told('shutdown');
    await eventually(() => fixture.poweredOff.length > 0);
    expect(fixture.poweredOff).toEqual([machine.id]);
    expect(fixture.processes()).toEqual([]);
  });

  claim('the machine can boot itself again', async () => {
    await using fixture = await open();
    const machine = fixture.machine(
      'if [[ -e kept ]]; then cat boot-id | tell second; else touch kept; cat boot-id | tell first; shutdown -r now; fi',
    );
    await fixture.host.start(machine);
    expect(await fixture.told('second')).not.toBe(await fixture.told('first'));
    expect(fixture.poweredOff).toEqual([]);
  });

  claim('a machine that is discarded leaves no folder and no process', async () => {
    await using fixture = await open();
    const machine = fixture.machine('echo | tell up; sleep 1000');
    await fixture.host.start(machine);
    await fixture.told('up');
    await fixture.host.discard(machine.id);
    expect(fixture.machineFolders()).toEqual([]);
    expect(fixture.processes()).toEqual([]);
  });

  claim('the console keeps the newest output, and is bounded', async () => {
    await using fixture = await HostFixture.open({ isolation, consoleLimitBytes: 100_000 });
    const machine = fixture.machine('seq 1 200000; echo the end >&2; echo | tell done');
    await fixture.host.start(machine);
    await fixture.told('done');
    await eventually(() => fixture.host.console(machine.id).endsWith('the end\n'));
    const console = fixture.host.console(machine.id);
    expect(console).toContain('\n200000\n');
    expect(console.length).toBeLessThan(100_000 + 70_000);
  });
});

describe.skipIf(missing !== null)('a machine in namespaces of its own', () => {
  test('has a boot id and an uptime of its own, and sees no other process', async () => {
    await using fixture = await HostFixture.open({ isolation: 'namespace' });
    await fixture.host.start(
      fixture.machine(
        'cat boot-id /proc/sys/kernel/random/boot_id | tell ids\ncat /proc/uptime | tell uptime\n' +
          'cat /proc/[0-9]*/cmdline | tr "\\0" " " | tell processes',
      ),
    );
    const [own, proc] = (await fixture.told('ids')).trim().split('\n');
    expect(proc).toBe(own);
    expect(proc).not.toBe(readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
    const hostUptime = Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]);
    expect(Number((await fixture.told('uptime')).split(' ')[0])).toBeLessThan(hostUptime);
    expect(await fixture.told('processes')).not.toContain('vitest');
  });

  test('two machines have each their own metadata server at the same address', async () => {
    await using first = await HostFixture.open({ isolation: 'namespace' });
    await using second = await HostFixture.open({ isolation: 'namespace' });
    for (const [fixture, path] of [
      [first, 'one'],
      [second, 'two'],
    ] as const) {
      await fixture.host.start(
        fixture.machine(`curl -s http://metadata.google.internal/${path} | tell got`),
      );
    }
    expect(await first.told('got')).toBe('reply to /one');
    expect(await second.told('got')).toBe('reply to /two');
  });
});

function commandLines(): string[] {
  return execFileSync('ps', ['-axww', '-o', 'command='], { encoding: 'utf8' }).split('\n');
}
