// The table of what each account may do against what worlds have recorded: one cell for each account,
// permission and place where it is granted.
import {
  type GrantPlace,
  type GrantRow,
  grantsOf,
} from '#scripts/local-cloud/deployment/grants.ts';
import type { World } from '#scripts/local-cloud/world.ts';

export interface Cell {
  readonly account: string;
  readonly permission: string;
  /** `project`, `bucket runs/work/`, `topics run-requests` … */
  readonly where: string;
}

/** A row's places, each as a row of its own. */
function placesOf(row: GrantRow): readonly (GrantRow & { readonly where: string })[] {
  const { on, names, prefixes } = row;
  if (names !== undefined)
    return names.map((name) => ({ ...row, names: [name], where: `${on} ${name}` }));
  if (prefixes === undefined) return [{ ...row, where: on }];
  return prefixes.map((prefix) => ({ ...row, prefixes: [prefix], where: `${on} ${prefix}` }));
}

export function cellsOf(rows: readonly GrantRow[]): readonly Cell[] {
  return rows.flatMap((row) =>
    placesOf(row).flatMap(({ account, where, permissions }) =>
      permissions.map((permission) => ({ account, permission, where })),
    ),
  );
}

export const keyOf = ({ account, permission, where }: Cell) => `${account} ${permission} ${where}`;

/** The cells that a world has seen used. Throws for a use that no row explains. */
export function usedCells(
  { iam }: Pick<World, 'iam'>,
  rows: readonly GrantRow[],
  place: GrantPlace,
): readonly Cell[] {
  const known = rows.flatMap((row) =>
    placesOf(row).flatMap((single) =>
      grantsOf(single, place).map((grant) => ({
        grant,
        where: single.where,
        account: row.account,
      })),
    ),
  );
  return [...iam.used].flatMap(([{ principal, resourcePrefix }, used]) =>
    [...used].map((permission) => {
      const found = known.find(
        ({ grant }) =>
          grant.principal === principal &&
          grant.resourcePrefix === resourcePrefix &&
          grant.permissions.includes(permission),
      );
      if (found === undefined) throw new Error(`${principal} ${permission} ${resourcePrefix}`);
      return { account: found.account, permission, where: found.where };
    }),
  );
}

/** Lines for people: who may do what where, and which scenarios make use of it. */
export function describeTable(
  cells: readonly Cell[],
  usedBy: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  return cells.map((cell) => {
    const [first, ...others] = usedBy.get(keyOf(cell)) ?? [];
    const more = others.length === 0 ? '' : ` and ${others.length} more`;
    const use = first === undefined ? 'NOT USED' : `${first}${more}`;
    const { account, permission, where } = cell;
    return `${account.padEnd(14)}${permission.padEnd(38)}${where.padEnd(26)}${use}`;
  });
}
