// SPDX-License-Identifier: Apache-2.0

/** Text as it stands in HTML, also inside a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
