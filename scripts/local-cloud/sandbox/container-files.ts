// The folder that stands for `/` of a sandboxed container: the image's files copied in, each mount a
// symbolic link to its folder or file on the machine. Programs find it as MAYFLY_SANDBOX_ROOT.
import { cpSync, existsSync, lstatSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { DockerError } from '#scripts/local-cloud/sandbox/docker-error.ts';
import type { SandboxImage } from '#scripts/local-cloud/sandbox/images.ts';
import type { Mount } from '#scripts/local-cloud/sandbox/run-options.ts';

const OWN_FOLDERS = ['/tmp', '/root'];

/** Fills `root`. Throws a DockerError (125) for a mount that a plain folder cannot stand for. */
export function layOutRoot(
  root: string,
  image: SandboxImage,
  options: { readonly mounts: readonly Mount[]; readonly workingDir: string },
): void {
  const imageFolder = join(root, image.workingDir);
  mkdirSync(imageFolder, { recursive: true });
  cpSync(image.folder, imageFolder, {
    recursive: true,
    filter: (source) => source !== join(image.folder, 'image.json'),
  });
  for (const folder of OWN_FOLDERS) mkdirSync(join(root, folder), { recursive: true });
  for (const mount of options.mounts) linkMount(root, mount);
  mkdirSync(join(root, options.workingDir), { recursive: true });
}

/** What a program in the sandbox finds beside the image's and the caller's own variables. */
export function sandboxEnv(root: string, id: string, nodeFolder: string): Record<string, string> {
  return {
    PATH: `${nodeFolder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
    HOSTNAME: id.slice(0, 12),
    HOME: join(root, 'root'),
    TMPDIR: join(root, 'tmp'),
    MAYFLY_SANDBOX_ROOT: root,
  };
}

function linkMount(root: string, mount: Mount): void {
  const target = normalize(mount.target);
  if (!target.startsWith('/') || target === '/') {
    throw refusal(`invalid mount path "${mount.target}": it must be absolute and not "/"`);
  }
  const path = join(root, target);
  refuseNesting(root, dirname(path), target);
  if (mount.source === null) {
    mkdirSync(path, { recursive: true });
    return;
  }
  // As dockerd does for `--volume` with a source that does not exist.
  if (!existsSync(mount.source)) mkdirSync(mount.source, { recursive: true });
  mkdirSync(dirname(path), { recursive: true });
  rmSync(path, { recursive: true, force: true });
  symlinkSync(mount.source, path);
}

function refuseNesting(root: string, parent: string, target: string): void {
  for (let folder = parent; folder.length > root.length; folder = dirname(folder)) {
    const isLink = lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
    if (isLink) {
      throw refusal(`the process sandbox cannot mount ${target} inside of another mount`);
    }
  }
}

function refusal(message: string): DockerError {
  return new DockerError(`Error response from daemon: ${message}`, 125);
}
