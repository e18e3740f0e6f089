/** Shorter ones stand in other texts by chance. */
const LEAST_ENCODED = 8;

/**
 * A secret as it is, and as it stands in an address or a form, in JSON (also in JSON within JSON, and with all but ASCII escaped), and in base64,
 * where it may stand behind and before other bytes: what base64 makes of a byte depends on its place.
 */
export function secretForms(secret: string): ReadonlySet<string> {
  if (secret === "") return new Set();
  const addresses = secret.isWellFormed() ? addressForms(secret) : [];
  return new Set([secret, ...jsonForms(secret), ...base64Forms(secret), ...addresses]);
}

function jsonForms(secret: string): string[] {
  const plain = inJson(secret);
  const ascii = plain.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return [plain, ascii].flatMap((form) => [form, form.replaceAll("/", "\\/"), inJson(form)]);
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function addressForms(secret: string): string[] {
  const component = encodeURIComponent(secret);
  const strict = component.replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
  const field = new URLSearchParams([["", secret]]).toString().slice(1);
  const forms = [component, strict, field, encodeURI(secret)];
  return forms.flatMap((form) => [form, form.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())]);
}

function base64Forms(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const within = [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    // Signs that hold bits of a neighbour are left out.
    const own = text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    return own.length < LEAST_ENCODED ? [] : [own];
  });
  return [bytes.toString("base64"), bytes.toString("base64url"), ...within, ...within.map(urlSafe)];
}

function urlSafe(base64: string): string {
  return base64.replaceAll("+", "-").replaceAll("/", "_");
}
