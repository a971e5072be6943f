// SPDX-License-Identifier: Apache-2.0
import type { ProcessConfig } from "@purlin/oci";

/** Where programs are looked for when the image does not say. */
export const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** The words that start the process of an image. */
export function commandOf({ entrypoint, cmd }: ProcessConfig): readonly string[] {
  const command = [...entrypoint, ...cmd];
  if (command.length === 0) {
    throw new Error("the image has no entry point: it is a package that runs nothing; build it with --entrypoint");
  }
  return command;
}

/** The environment of an image. */
export function parseEnv(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf("=");
      return at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1)];
    }),
  );
}
