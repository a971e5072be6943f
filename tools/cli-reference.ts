// SPDX-License-Identifier: Apache-2.0

import { commandGroups, commandTable } from "../packages/cli/src/commands/command-table.ts";
import { debugOption } from "../packages/cli/src/commands/program.ts";
import { helpMarkdown } from "../packages/cli/src/help/help-text.ts";
import type { CommandSpec, OptionSpec } from "../packages/cli/src/options/command-spec.ts";

/** The reference of the command line, made from what `--help` shows. */
export function generateCliReference(): ReadonlyMap<string, string> {
  const sections = commandTable.map(section);
  return new Map([["docs/reference/cli.md", `${[intro(), ...sections].join("\n\n")}\n`]]);
}

function intro(): string {
  const rows = commandTable.map(({ name, summary }) => `| [\`purlin ${name}\`](#${anchor(name)}) | ${summary} |`);
  const groups = Object.entries(commandGroups).map(([name, summary]) => `\`purlin ${name}\`: ${summary}.`);
  return `<!-- Generated from packages/cli/src by \`npm run generate\`. Do not edit. -->

# The purlin command

In this repository, \`npx purlin\` runs it after \`npm ci\`. Every command takes \`--help\` and \`${debugOption.flags}\` (${debugOption.description}). ${groups.join(" ")}

| Command | What it does |
|---|---|
${rows.join("\n")}

Results go to stdout, everything else to stderr. Exit codes: 0 success; 1 failure; 2 invalid command line; 130 interrupted; 141 stdout was closed (SIGPIPE). An error is one
line that says what is wrong, where, and what to do. Colours appear on a terminal only, and never when \`NO_COLOR\` is set.`;
}

function section(spec: CommandSpec): string {
  const usage = ["purlin", spec.name, "[options]", ...(spec.arguments ?? []).map(({ name }) => name)].join(" ");
  const help = helpMarkdown(spec.name).trimEnd().replaceAll(/^## /gm, "### ");
  return [`## purlin ${spec.name}`, `\`\`\`\n${usage}\n\`\`\``, ...table(spec), help].join("\n\n");
}

function table(spec: CommandSpec): string[] {
  const rows = [
    ...(spec.arguments ?? []).map(({ name, description }) => `| \`${name}\` | ${description} |`),
    ...(spec.options ?? []).filter(({ hidden }) => hidden !== true).map(optionRow),
  ];
  return rows.length === 0 ? [] : [`| Option | Meaning |\n|---|---|\n${rows.join("\n")}`];
}

function optionRow({ flags, description, required, default: preset }: OptionSpec): string {
  const note = required === true ? " (required)" : preset === undefined ? "" : ` (default \`${preset}\`)`;
  return `| \`${flags}\` | ${description}${note} |`;
}

function anchor(name: string): string {
  return `purlin-${name.replaceAll(" ", "-")}`;
}
