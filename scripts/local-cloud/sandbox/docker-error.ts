// A refusal in docker's own words: the text for stderr and the exit code that docker would end with
// (125: the engine said no to a run; 1: any other command).

export class DockerError extends Error {
  override readonly name = 'DockerError';
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}
