/* Parts of a page: its head, headings, tables, figures. */
#include "config.h"

#include "study/report/report_impl.h"

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n<title>%s</title>"
    "\n<style>\n"
    "body{font:15px/1.45 system-ui,sans-serif;color:#1a1a1a;background:#fff;"
    "max-width:1060px;margin:24px auto;padding:0 20px}\n"
    "h1{font-size:24px;margin:0 0 4px}h2{font-size:18px;margin:32px 0 6px;"
    "border-bottom:1px solid #ddd}\n"
    "p{max-width:80ch}.big{font-size:30px;font-weight:600}.of{color:#555}\n"
    ".row{display:flex;gap:36px;flex-wrap:wrap;margin:14px 0}\n"
    "svg{width:100%%;height:auto;display:block;margin:8px 0}\n"
    "svg text{font:11px system-ui,sans-serif;fill:#222}\n"
    ".label text{font-weight:600;paint-order:stroke;stroke:#fff;"
    "stroke-width:3px}\n"
    "rect:hover,path:hover{stroke:#000;stroke-width:1}\n"
    ".grid{stroke:#e4e4e4}.zero{stroke:#000}.limit{stroke:#000;stroke-width:2;"
    "stroke-dasharray:6 4}\n"
    "pre{font:12px/1.35 ui-monospace,monospace;background:#f6f6f6;padding:10px;"
    "overflow-x:auto}\n"
    "table{border-collapse:collapse}td,th{padding:3px 12px;text-align:right;"
    "border-bottom:1px solid #e4e4e4}\n"
    "td:first-child,th:first-child{text-align:left}summary{cursor:pointer}\n"
    ".chart{overflow-x:auto}@media(max-width:640px){body{padding:0 10px}"
    ".chart svg{min-width:760px}table{display:block;overflow-x:auto}}\n"
    "@media print{details{display:none}}\n"
    "</style></head><body>\n";

void
ra_report_heading(GString *out, const char *title, const char *text)
{
  g_string_append(out, "<h2>");
  ra_report_escape(out, title);
  g_string_append(out, "</h2>\n<p>");
  ra_report_escape(out, text);
  g_string_append(out, "</p>\n");
}

void
ra_report_table(GString *out, const RaTable *table)
{
  g_autoptr(GString) text = g_string_new(NULL);

  ra_table_write(table, RA_FORMAT_TEXT, text);
  g_string_append(out, "<pre>");
  ra_report_escape(out, text->str);
  g_string_append(out, "</pre>\n");
}

void
ra_report_figure(GString *out, const char *value, const char *what)
{
  g_string_append(out, "<div><div class=\"big\">");
  ra_report_escape(out, value);
  g_string_append(out, "</div><div class=\"of\">");
  ra_report_escape(out, what);
  g_string_append(out, "</div></div>\n");
}

void
ra_report_open(GString *out, const char *title)
{
  g_autofree char *safe = g_markup_escape_text(title, -1);

  g_string_append_printf(out, head, safe);
  g_string_append_printf(
      out, "<h1>%s</h1><div class=\"of\">" PACKAGE_STRING "</div>\n", safe);
}

void
ra_report_close(GString *out)
{
  g_string_append(out, "</body></html>\n");
}
