// SPDX-License-Identifier: Apache-2.0
import { isGoPrintable } from "../json/go-text.ts";
import { utf8Length } from "../json/utf8.ts";
import { maxFieldManagerBytes } from "../metadata/managed-fields.ts";

/**
 * The name under which a request is recorded: its fieldManager, or what stands before the first `/` of the user agent,
 * without characters that do not print. May be empty, which is recorded as `unknown`.
 */
export function managerName(fieldManager: string | undefined, userAgent: string | undefined): string {
  if (fieldManager) return fieldManager;
  const [program = ""] = (userAgent ?? "").split("/");
  let name = "";
  for (const char of program) {
    if (!isGoPrintable(char)) continue;
    if (utf8Length(name) + utf8Length(char) > maxFieldManagerBytes) break;
    name += char;
  }
  return name;
}
