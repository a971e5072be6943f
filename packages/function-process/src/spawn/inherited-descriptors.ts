// SPDX-License-Identifier: Apache-2.0
import { closeSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";

const table = "/proc/self";
/** Standard input, output and error. */
const standard = 2;
/** O_CLOEXEC, as /proc writes the flags of a descriptor: octal. */
const closeOnExec = 0o2000000;

let isDone = false;

/**
 * Closes the file descriptors that this process inherited, apart from its standard streams: a child would inherit them as well, and a
 * function could read and write whatever they refer to. Everything that Node opens is marked close-on-exec, so a descriptor without the mark
 * came from the parent process. Node marks only the first few inherited ones itself. A second call does nothing.
 *
 * Where there is no /proc, Node starts children without inherited descriptors (macOS).
 */
export function closeInheritedDescriptors(): void {
  if (isDone) return;
  isDone = true;
  for (const descriptor of openDescriptors()) {
    if (descriptor > standard && isInherited(descriptor)) closeSync(descriptor);
  }
}

function openDescriptors(): readonly number[] {
  try {
    return readdirSync(`${table}/fd`).map(Number);
  } catch {
    return [];
  }
}

function isInherited(descriptor: number): boolean {
  try {
    const flags = /^flags:\s+(\d+)/m.exec(readFileSync(`${table}/fdinfo/${descriptor}`, "utf8"))?.[1];
    if (flags === undefined || (Number.parseInt(flags, 8) & closeOnExec) !== 0) return false;
    return !isProfile(readlinkSync(`${table}/fd/${descriptor}`));
  } catch {
    // It was the descriptor of the listing itself.
    return false;
  }
}

/** V8 writes profiles through descriptors without the mark (`--prof`, `--perf-basic-prof`); their names contain the process number. */
function isProfile(target: string): boolean {
  return /^(perf|jit|isolate)/.test(basename(target)) && basename(target).includes(String(process.pid));
}
