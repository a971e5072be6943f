// SPDX-License-Identifier: Apache-2.0
import { commandGroups, commandTable } from "../packages/cli/src/commands/command-table.ts";
import { debugOption } from "../packages/cli/src/commands/program.ts";
import { helpMarkdown, tableCells } from "../packages/cli/src/help/help-text.ts";
import type { CommandSpec, OptionSpec } from "../packages/cli/src/options/command-spec.ts";

/** Manual pages by file name, such as `purlin-get.1`, made from the same table and texts as `--help`. */
export function manPages(version: string): ReadonlyMap<string, string> {
  const pages = commandTable.map((spec): [string, string] => [fileOf(spec.name), commandPage(spec, version)]);
  return new Map([["purlin.1", mainPage(version)], ...pages]);
}

const fileOf = (name: string): string => `purlin-${name.replaceAll(" ", "-")}.1`;

function mainPage(version: string): string {
  const commands = commandTable.map(({ name, summary }) => item(`purlin ${name}`, summary));
  const groups = Object.entries(commandGroups).map(([name, summary]) => item(`purlin ${name}`, summary));
  return page(
    [
      ["NAME", `purlin \\- a composition control plane in TypeScript`],
      ["SYNOPSIS", `.B purlin\n.I command\n.RI [ options ]`],
      ["DESCRIPTION", roffOf(helpMarkdown("purlin"))],
      ["COMMANDS", commands.join("\n")],
      ["GROUPS", groups.join("\n")],
      ["EXIT STATUS", exitStatus],
    ],
    { name: "purlin", version },
  );
}

const exitStatus = [
  item("0", "success"),
  item("1", "failure"),
  item("2", "invalid command line, file or object"),
  item("3", "diff found changes, explain found causes, replay found a difference"),
  item("130", "interrupted"),
  item("141", "standard output was closed"),
].join("\n");

function commandPage(spec: CommandSpec, version: string): string {
  const options = [...(spec.options ?? []).filter(({ hidden }) => hidden !== true), debugOption];
  const [description = "", ...rest] = helpMarkdown(spec.name).split(/^## Examples\n/m);
  const usage = ["[options]", ...(spec.arguments ?? []).map(({ name }) => name)].map(escaped).join(" ");
  const sections: [string, string][] = [
    ["NAME", `purlin\\-${escaped(spec.name.replaceAll(" ", "-"))} \\- ${escaped(spec.summary)}`],
    ["SYNOPSIS", `.B purlin ${escaped(spec.name)}\n${usage}`],
    ["DESCRIPTION", roffOf(description)],
    ["ARGUMENTS", (spec.arguments ?? []).map(({ name, description: text }) => item(name, text)).join("\n")],
    ["OPTIONS", options.map((option) => item(option.flags, optionText(option))).join("\n")],
    ["EXAMPLES", roffOf(rest.join(""))],
    ["SEE ALSO", ".BR purlin (1)"],
  ];
  return page(sections, { name: `purlin-${spec.name.replaceAll(" ", "-")}`, version });
}

function optionText({ description, required, default: preset }: OptionSpec): string {
  return `${description}${required === true ? " (required)" : preset === undefined ? "" : ` (default ${preset})`}`;
}

function page(
  sections: readonly (readonly [title: string, text: string])[],
  { name, version }: { readonly name: string; readonly version: string },
): string {
  const shown = sections
    .filter(([, text]) => text.trim() !== "")
    .map(([title, text]) => `.SH ${title}\n${text.trim()}`);
  return `.\\" Generated. Do not edit.\n.TH ${name.toUpperCase()} 1 "" "purlin ${version}" "Purlin"\n${shown.join("\n")}\n`;
}

function item(term: string, text: string): string {
  return `.TP\n.B ${escaped(term)}\n${guarded(escaped(text))}`;
}

/** Backslashes and dashes have a meaning of their own in roff. */
function escaped(text: string): string {
  return text.replaceAll("\\", "\\e").replaceAll("-", "\\-");
}

/** A line that begins with a dot or a quote is a request. */
function guarded(line: string): string {
  return /^[.']/.test(line) ? `\\&${line}` : line;
}

/** The Markdown of help texts: paragraphs, lists, subheadings, fenced code and inline code. */
export function roffOf(markdown: string): string {
  const lines: string[] = [];
  let inCode = false;
  const all = markdown.trim().split("\n");
  for (const [at, line] of all.entries()) {
    const row = inCode ? undefined : tableCells(line, all[at + 1]);
    if (line.startsWith("```")) {
      lines.push(...(inCode ? [".EE", ".RE"] : [".PP", ".RS 4", ".EX"]));
      inCode = !inCode;
    } else if (inCode) lines.push(guarded(escaped(line)));
    else if (line === "") lines.push(".PP");
    else if (row !== undefined) lines.push(...(row.length === 0 ? [] : [".TP", ...tableRow(row)]));
    else if (line.startsWith("#")) lines.push(`.SS ${escaped(line.replace(/^#+ /, ""))}`);
    else if (/^(- |\d+\. )/.test(line)) lines.push(".IP \\(bu 2", inline(line.replace(/^(- |\d+\. )/, "")));
    else lines.push(inline(line));
  }
  return lines.join("\n").replaceAll(/\.PP\n(?=\.(PP|SS|IP))|\.PP$/g, "");
}

/** A tagged paragraph: what a row is about, and what it says. */
function tableRow([first = "", ...others]: readonly string[]): string[] {
  return [inline(first), inline(others.join(": "))];
}

function inline(line: string): string {
  const text = line.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, "$1");
  return guarded(escaped(text).replaceAll(/`([^`]+)`/g, "\\fB$1\\fP"));
}
