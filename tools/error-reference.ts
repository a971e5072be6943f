// SPDX-License-Identifier: Apache-2.0
import { errorCodes } from "../packages/cli/src/user-error.ts";
import { checks } from "../packages/cli/src/validate/finding.ts";
import { causeTable } from "../packages/explain/src/model/cause-table.ts";

/** The page of all codes, made from the tables that the command itself uses. */
export function generateErrorReference(): ReadonlyMap<string, string> {
  return new Map([["docs/reference/error-codes.md", page()]]);
}

function page(): string {
  const errors = Object.entries(errorCodes).map(([code, text]) => `| \`${code}\` | ${text} |`);
  const found = Object.entries(checks).map(([code, text]) => `| \`${code}\` | ${text} |`);
  const causes = Object.entries(causeTable).map(([code, { name, summary, signal, fix }]) =>
    [`### ${code} ${name}`, summary, `Recognized by: ${signal}`, `What to do: ${fix}`].join("\n\n"),
  );
  return `<!-- Generated from packages/cli/src and packages/explain/src by \`npm run generate\`. Do not edit. -->

# Error codes

Codes are stable: a code keeps its meaning in all later versions, and a code that is no longer used is not used again. Messages may change.

## Exit codes

| Code | Meaning |
|---|---|
| 0 | success; for \`diff\` no changes, for \`explain\` healthy |
| 1 | failure |
| 2 | the command line, a file or an object is wrong |
| 3 | there is something to see: \`diff\` found changes, \`explain\` found causes, \`runs replay\` found a difference |
| 4 | \`explain\`: not ready yet, and nothing is wrong |
| 5 | \`explain\`: the object could not be judged |
| 130 | interrupted |
| 141 | stdout was closed (SIGPIPE) |

## Errors with \`-o json\`

With \`-o json\` stdout is one JSON document in every case. A command that fails before it prints a result prints \`{"errors": [{"code": "UNREACHABLE", "message": "…"}]}\`; the
message is also on stderr, and the exit code is the same as without \`-o json\`.

| Code | Meaning |
|---|---|
${errors.join("\n")}

## Findings of \`purlin validate\`

| Code | What is checked |
|---|---|
${found.join("\n")}

## Causes of \`purlin explain\`

\`purlin explain --code E11\` prints one of them.

${causes.join("\n\n")}
`;
}
