// Base URLs of Google's services, without a trailing slash.

export const GOOGLE_ENDPOINTS = {
  storage: 'https://storage.googleapis.com',
  compute: 'https://compute.googleapis.com',
  pubsub: 'https://pubsub.googleapis.com',
  run: 'https://run.googleapis.com',
  iamCredentials: 'https://iamcredentials.googleapis.com',
  scheduler: 'https://cloudscheduler.googleapis.com',
  secretManager: 'https://secretmanager.googleapis.com',
  logging: 'https://logging.googleapis.com',
} as const;
