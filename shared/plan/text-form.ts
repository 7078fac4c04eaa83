// The forms of a request's texts as JSON Schema says them, beside the checks that tell a person what is
// wrong. A form takes whatever its check takes; where it takes more, the reference page says so. Patterns
// have no look-around and no `\u`, so that any language's regular expressions read them.
import { BUCKET_NAME } from '#shared/plan/gs-uri.ts';

/** Keywords of JSON Schema (draft 2020-12) for a text. */
export interface TextForm {
  readonly pattern?: string;
  readonly not?: TextForm;
  readonly anyOf?: readonly TextForm[];
}

/** The form of a pattern that is a check's own. */
export const formOf = ({ source }: RegExp): TextForm => ({
  pattern: source.replaceAll('\\/', '/'),
});

export const ANY_TEXT: TextForm = { pattern: '^[^\\x00]*$' };

const PLAIN = '[^/\\x00-\\x1f\\x7f]';
const NO_DOT = '[^./\\x00-\\x1f\\x7f]';
/** A part of a path that is not empty, `.` or `..`. */
const PART = `(?:${NO_DOT}|\\.${NO_DOT}|\\.\\.${PLAIN})${PLAIN}*`;
export const MOUNT_PATH: TextForm = {
  pattern: `^(?:/${PART})+$`,
  not: { pattern: '^/(?:mayfly|proc|sys|dev)(?:/|$)' },
};
export const FOLDER: TextForm = { pattern: '^/[^\\x00-\\x1f\\x7f]*$' };

export const VARIABLE: TextForm = {
  pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
  not: { pattern: '^MAYFLY_' },
};
export const SECRET_KEY: TextForm = { anyOf: [VARIABLE, MOUNT_PATH] };

const BUCKET = BUCKET_NAME.source.slice(1, -1);
const OBJECT = '[^\\x00-\\x1f\\x7f]*';
export const GS_URI: TextForm = { pattern: `^gs://${BUCKET}/${OBJECT}$` };
export const GS_PREFIX: TextForm = { pattern: `^gs://${BUCKET}/(?:${OBJECT}/)?$` };
export const GS_PACKAGE: TextForm = { pattern: `^gs://${BUCKET}/${OBJECT}\\.tar\\.gz$` };
