// The style sheet of report.html.
#pragma once

namespace tabane::lab {

inline constexpr const char* kReportStyle = R"css(
:root{color-scheme:light dark;
--shade:#1b1f2440;
--paper:#fbfaf8;--card:#fff;--ink:#1b1f24;--soft:#5b6470;--line:#e4e2dd;--tint:#f3f1ec;
--accent:#0b6a8f;
--good:#18794e;--part:#8a6100;--warn:#b4460b;
--fig-axis:#6b7280;--fig-grid:#e8e6e1;--fig-mark:#9ca3af;
--c1:#0072b2;--c2:#d55e00;--c3:#009e73;--c4:#b8569a;--c5:#a67c00;--c6:#56b4e9}
@media screen and (prefers-color-scheme:dark){:root{
--shade:#000c;
--paper:#14171b;--card:#1b1f24;--ink:#e8e6e1;--soft:#9aa3ae;--line:#2e343b;--tint:#20252b;
--accent:#6fc3e6;
--good:#5fd39b;--part:#e3b341;--warn:#ff9f63;
--fig-axis:#9aa3ae;--fig-grid:#2b3138;--fig-mark:#6b7480;
--c1:#4aa8e0;--c2:#ff8a3d;--c3:#2fc79b;--c4:#e08bc6;--c5:#d9b23c;--c6:#9bd6f7}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif}
main,header,footer{max-width:1120px;margin:0 auto;padding:0 28px}
header{padding-top:44px}
h1,h2,h3{line-height:1.2;letter-spacing:-.012em;text-wrap:balance;overflow-wrap:anywhere}
h1{font-size:clamp(1.7rem,4.2vw,2.7rem);font-weight:680;margin:.35em 0 .2em}
h2{font-size:1.35rem;font-weight:650;margin:0 0 1rem}
h3{font-size:1.06rem;font-weight:650;margin:0 0 .45rem}
p{margin:0 0 .7em;overflow-wrap:anywhere}
small{font-size:.8em;color:var(--soft);font-weight:400}
a{color:var(--accent)}
code,pre{font:.86em/1.5 ui-monospace,"SF Mono","DejaVu Sans Mono",Menlo,Consolas,monospace}
.brand{display:flex;gap:.55em;align-items:center;color:var(--accent);font-weight:650;
font-size:.95rem}
.brand svg{width:22px;height:22px;flex:none}
.lead{font-size:1.08rem;color:var(--soft);max-width:60em}
.meta{display:flex;flex-wrap:wrap;gap:.2em 1.5em;color:var(--soft);font-size:.86rem;margin:0}
.flag{color:var(--warn);font-weight:600}
nav{display:flex;flex-wrap:wrap;gap:.3em 1.2em;font-size:.9rem;border-block:1px solid var(--line);
padding:.7em 0;margin:1.6em 0 0}
nav a{text-decoration:none}
nav a:hover{text-decoration:underline}
section{padding:2.5rem 0 0}
.say{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,270px),1fr));
gap:1.1rem 2rem}
.say div{border-top:3px solid var(--c3);padding-top:.7rem}
.say div:nth-child(2){border-color:var(--c1)}
.say div:nth-child(3){border-color:var(--c2)}
.say b{display:block;font-size:.78rem;letter-spacing:.06em;text-transform:uppercase;
color:var(--soft);
font-weight:600;margin-bottom:.25em}
.say p{font-size:1.06rem;margin:0}
.advice{margin:0;padding-left:1.4em;max-width:60em;font-size:1.06rem}
.advice li{margin:0 0 .8em}
.advice p{margin:.1em 0}
.advice code{display:inline-block;padding:.1em .5em;overflow-wrap:anywhere}
.findings{margin:0;padding-left:1.2em;max-width:60em;font-size:1.06rem}
.findings li{margin:0 0 .5em}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,230px),1fr));gap:14px}
.tile{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:16px 18px 15px}
.tile .name{font-size:.86rem;color:var(--soft);min-height:1.55em}
.tile .big{font-size:1.95rem;font-weight:640;letter-spacing:-.02em;
font-variant-numeric:tabular-nums;
line-height:1.25;white-space:nowrap}
.tile .big span{font-size:.5em;font-weight:500;color:var(--soft);letter-spacing:0;margin-left:.25em}
.tile .of{font-size:.8rem;color:var(--soft);font-variant-numeric:tabular-nums}
.bar{height:5px;border-radius:3px;background:var(--line);margin:.55rem 0 .4rem;overflow:hidden}
.bar i{display:block;height:100%;border-radius:3px;background:var(--c1)}
.warning{background:var(--card);border:1px solid var(--line);border-left:4px solid var(--warn);
border-radius:8px;padding:14px 18px;margin:0 0 12px;display:grid;gap:.5rem 1.6rem;
grid-template-columns:repeat(auto-fit,minmax(min(100%,240px),1fr))}
.warning b{display:block;font-size:.75rem;letter-spacing:.06em;text-transform:uppercase;
color:var(--warn);font-weight:600}
.warning div+div b{color:var(--soft)}
.warning p{margin:0}
figure{margin:0 0 1.4rem;padding:22px 24px 18px;background:var(--card);border:1px solid var(--line);
border-radius:12px;display:grid;grid-template-columns:minmax(0,66fr) minmax(0,34fr);gap:6px 30px}
figure>h3{grid-column:1/-1}
.plot svg{display:block;width:100%;height:auto;max-height:none;overflow:visible;
font-family:system-ui,"Noto Sans","DejaVu Sans",sans-serif;color:var(--ink)}
figcaption{font-size:.95rem;padding-top:.3rem}
figure details{grid-column:1/-1}
figure .scroll{width:fit-content}
figure .scroll table{width:auto}
figure img{display:block;max-width:100%;height:auto;margin:0 auto}
.table-only .plot{display:none}
.table-only{grid-template-columns:1fr}
details{font-size:.9rem}
summary{cursor:pointer;color:var(--accent);width:max-content;max-width:100%}
.files{font-size:.82rem;color:var(--soft)}
.scroll{overflow-x:auto;max-width:100%;max-height:34rem;overflow-y:auto;margin:.5rem 0 0;
border:1px solid var(--line);border-radius:8px;background:
linear-gradient(90deg,var(--card) 40%,transparent) left/40px 100% no-repeat local,
linear-gradient(270deg,var(--card) 40%,transparent) right/40px 100% no-repeat local,
linear-gradient(90deg,var(--shade),transparent) left/18px 100% no-repeat scroll,
linear-gradient(270deg,var(--shade),transparent) right/18px 100% no-repeat scroll,var(--card)}
.scroll.full{max-height:none}
table{border-collapse:collapse;font-size:.86rem;width:100%}
.scroll table+table{border-top:6px solid var(--tint)}
th,td{padding:.36em .65em;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
tr:last-child>*{border-bottom:0}
thead th{background:var(--tint);font-weight:600;white-space:nowrap;position:sticky;top:0;z-index:1}
tbody th{font-weight:500;white-space:nowrap}
td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
td.none{color:var(--soft);text-align:right}
thead th.n{text-align:right}
tr.group th{background:var(--tint);font-weight:650}
td.word{white-space:nowrap}
td .what{display:block;color:var(--soft);font-size:.92em;white-space:normal;min-width:9em;
max-width:20em}
td.n .what,td.none .what{margin-left:auto;max-width:13em}
tbody th .what{display:block;color:var(--soft);font-size:.94em;font-weight:400;white-space:normal;
min-width:13em;max-width:26em}
.share{display:inline-block;width:48px;height:6px;border-radius:3px;background:var(--line);
overflow:hidden;vertical-align:middle;margin-left:.6em}
.share i{display:block;height:100%;background:var(--c1)}
.spark{width:76px;height:18px;display:block;color:var(--c1);margin-left:auto}
.groups{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,330px),1fr));gap:14px}
.group{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 18px;
min-width:0}
.group h3{text-transform:capitalize}
dl{display:grid;grid-template-columns:minmax(0,42%) minmax(0,1fr);gap:.25em 1em;margin:0;
font-size:.88rem}
dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
dt{overflow-wrap:anywhere}
.none{color:var(--soft)}
.status{white-space:nowrap;font-weight:600}
.kept{color:var(--good)}
.missed{color:var(--warn)}.partly{color:var(--part)}.na{color:var(--soft);font-weight:400}
pre{background:var(--tint);border-radius:8px;padding:14px 16px;overflow-x:auto;margin:0 0 .8em;
white-space:pre-wrap;overflow-wrap:anywhere}
footer{padding-top:2.5rem;padding-bottom:3rem;color:var(--soft);font-size:.86rem}
.plot svg.narrow{display:none}
@media (max-width:560px){
.plot svg.wide{display:none}
.plot svg.narrow{display:block}}
@media (max-width:900px){
main,header,footer{padding-left:16px;padding-right:16px}
header{padding-top:26px}
figure{grid-template-columns:minmax(0,1fr);padding:16px 12px 14px}
section{padding-top:2rem}
.tiles{grid-template-columns:repeat(auto-fill,minmax(min(100%,165px),1fr));gap:10px}
.tile{padding:12px 14px}
.tile .big{font-size:1.5rem}}
@media print{
@page{margin:14mm}
body{background:#fff;font-size:10.5pt}
main,header,footer{max-width:none;padding-left:0;padding-right:0}
nav,summary{display:none}
figure{grid-template-columns:minmax(0,1fr);border:0;padding:0;break-inside:avoid}
figure .plot svg{max-height:215mm;max-width:170mm;margin:0 auto}
.tile,.warning,.group,tr{break-inside:avoid}
h2,h3{break-after:avoid}
.scroll{overflow:visible;max-height:none;border:0}
thead th{position:static}
table{font-size:7.5pt}
tbody th{white-space:normal;overflow-wrap:anywhere}}
)css";

}  // namespace tabane::lab
