import { expect, test } from 'vitest';
import { readSettings } from '#shared/cloud/config.ts';
import { SettingsError } from '#shared/cloud/settings-reader.ts';

const ENVIRONMENT = {
  MAYFLY_PROJECT: 'my-project',
  MAYFLY_BUCKET: 'my-bucket',
  MAYFLY_REGIONS: 'europe-west1',
  MAYFLY_WORKER_SERVICE_ACCOUNTS: 'worker@my-project.iam.gserviceaccount.com',
  MAYFLY_PUSH_AUDIENCE: 'https://mayfly.example',
  MAYFLY_PUSH_SERVICE_ACCOUNTS: 'push@my-project.iam.gserviceaccount.com',
};
const read = (guest?: string) =>
  readSettings({ ...ENVIRONMENT, ...(guest === undefined ? {} : { MAYFLY_GUEST: guest }) });

test('what is set of the machine’s scripts is handed to planning, the rest left to its defaults', () => {
  expect(read('{"heartbeatSeconds": 5, "workDir": "w"}').plan.guest).toEqual({
    heartbeatSeconds: 5,
    workDir: 'w',
  });
  expect(read().plan.guest).toBeUndefined();
});

test.each([
  { name: 'no JSON', text: 'heartbeat=5', says: 'it is a JSON object' },
  { name: 'a list', text: '[]', says: 'it is a JSON object' },
  { name: 'an unknown name', text: '{"heartbeat": 5}', says: 'there is no "heartbeat"' },
  { name: 'a fraction', text: '{"tries": 1.5}', says: 'tries is wrong' },
  { name: 'a number for a text', text: '{"workDir": 5}', says: 'workDir is wrong' },
])('a wrong setting of the machine’s scripts is named: $name', ({ text, says }) => {
  expect(() => read(text)).toThrow(SettingsError);
  expect(() => read(text)).toThrow(says);
});
