// SPDX-License-Identifier: Apache-2.0

import { existsSync, readFileSync } from "node:fs";
import type { Io } from "./io.ts";

/** How the user would type this command again: npx and npm scripts leave nothing on the path behind them. */
export function commandName(env: Io["env"]): "purlin" | "npx purlin" {
  return env["npm_command"] === undefined ? "purlin" : "npx purlin";
}

/** A text that names commands, with their names as this user would type them. */
export function withCommandName(text: string, env: Io["env"]): string {
  return text.replaceAll(/(?<![\w/-])purlin (?=[a-z])/g, `${commandName(env)} `);
}

/** The version of this command. A command that is built into one file is in a folder of its own, one below the others. */
export function ownVersion(): string {
  const beside = new URL("../package.json", import.meta.url);
  const file = existsSync(beside) ? beside : new URL("../../package.json", import.meta.url);
  const manifest: unknown = JSON.parse(readFileSync(file, "utf8"));
  return (manifest as { readonly version: string }).version;
}
