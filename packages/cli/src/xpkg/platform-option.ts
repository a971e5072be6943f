// SPDX-License-Identifier: Apache-2.0
import type { Platform } from "@purlin/oci";
import { type CommandInput, textOption } from "../commands/command-spec.ts";
import { UserError } from "../user-error.ts";

/** The value of --platform. */
export function platformOption(input: CommandInput): Platform | undefined {
  const text = textOption(input, "platform");
  if (text === undefined) return undefined;
  const [, os, architecture, variant] = /^([a-z0-9]+)\/([a-z0-9]+)(?:\/([a-z0-9]+))?$/.exec(text) ?? [];
  if (os !== undefined && architecture !== undefined) {
    return variant === undefined ? { os, architecture } : { os, architecture, variant };
  }
  throw new UserError(`--platform ${text}: expected <os>/<architecture>, such as linux/amd64`, { exitCode: 2 });
}
