// SPDX-License-Identifier: Apache-2.0
// Which addresses a process listens on, as the kernel says.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

const listening = "0A";
/** 127.0.0.1, ::1 and the former inside the latter's family, as the kernel writes them. */
const loopback = /^(0100007F|00000000000000000000000001000000|0000000000000000FFFF00000100007F)$/;

/** What a process listens on over TCP. */
export interface Listener {
  readonly port: number;
  readonly isLoopback: boolean;
}

/** The listening TCP sockets of a process; none of one that has ended. */
export function listenersOf(pid: number): readonly Listener[] {
  const own = socketsOf(pid);
  return ["tcp", "tcp6"]
    .flatMap((table) => rowsOf(pid, table))
    .flatMap(([, local = "", , state, ...rest]) => {
      if (state !== listening || !own.has(rest[5] ?? "")) return [];
      const [host = "", port = ""] = local.split(":");
      return [{ port: Number.parseInt(port, 16), isLoopback: loopback.test(host) }];
    });
}

function rowsOf(pid: number, table: string): string[][] {
  const lines = attempt(() => readFileSync(`/proc/${pid}/net/${table}`, "utf8")) ?? "";
  return lines
    .split("\n")
    .slice(1)
    .map((line) => line.trim().split(/\s+/));
}

/** The inodes of the sockets that a process has open. */
function socketsOf(pid: number): ReadonlySet<string> {
  const files = attempt(() => readdirSync(`/proc/${pid}/fd`)) ?? [];
  const targets = files.map((file) => attempt(() => readlinkSync(`/proc/${pid}/fd/${file}`)) ?? "");
  return new Set(targets.flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []));
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
