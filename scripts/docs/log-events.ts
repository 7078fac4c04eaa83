// The page of log events, from the one table that types them.
import { LOG_EVENTS, type LogEventFacts } from '#shared/cloud/log-events.ts';

const HEAD = `# Log events

Every line that a function writes is one JSON object with \`severity\`, \`message\`, \`time\` and a stable
\`event\`; lines about a run have \`runId\` and the label \`run_id\`, and, where its publisher sent a trace,
Cloud Logging's \`trace\` and \`spanId\`. What to do is explained in [operations.md](operations.md).

    jsonPayload.event="run-ended" AND jsonPayload.runId="RUN"

\`run-ended\` carries \`status\`, \`cause\`, \`runtime\`, \`machineType\`, \`region\`, \`provisioningModel\`,
\`attempts\`, \`seconds\` (\`queue\`, \`provision\`, \`boot\`, \`pull\`, \`execute\`, \`total\`), \`costUsd\` and
\`wasteSeconds\`; what is not known is null.

| event | severity, at most | meaning | what to do |
| --- | --- | --- | --- |
`;

export function logEventsPage(
  events: Readonly<Record<string, LogEventFacts>> = LOG_EVENTS,
): string {
  const rows = Object.entries(events).map(
    ([name, { severity, meaning, action }]) =>
      `| \`${name}\` | ${severity} | ${meaning} | ${action} |`,
  );
  return `${HEAD}${rows.join('\n')}\n`;
}
