// SPDX-License-Identifier: Apache-2.0
import { UserError } from "../user-error.ts";

/** Where a function listens. */
export type Target =
  | { readonly kind: "tcp"; readonly text: string; readonly host: string; readonly port: number }
  | { readonly kind: "unix"; readonly text: string; readonly path: string; readonly port: 0 };

/** Reads `--target`: `host:port`, `[IPv6]:port`, `:port` for this machine, or `unix:path`. */
export function parseTarget(text: string): Target {
  if (text.startsWith("unix:") && text.length > "unix:".length) {
    return { kind: "unix", text, path: text.slice("unix:".length), port: 0 };
  }
  const match = /^(?:dns:\/\/\/)?(?:\[([0-9a-f:.]+)\]|([^[\]:/\s]*)):(\d{1,5})$/i.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port < 1 || port > 65_535) {
    throw new UserError(`--target: expected host:port, such as localhost:9443, or unix:path, not "${text}"`, {
      exitCode: 2,
    });
  }
  const host = match[1] ?? (match[2] || "localhost");
  return { kind: "tcp", text: `${host.includes(":") ? `[${host}]` : host}:${port}`, host, port };
}
