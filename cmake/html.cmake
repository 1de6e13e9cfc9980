# SPDX-License-Identifier: MIT
# Makes one C file of the page in ${DIR}: page.html with the style and the scripts in it, in the
# order in which they are given, split where the data goes.
#   cmake -DDIR=... -DSCRIPTS=a.js,b.js -DOUT=html_assets.c -P html.cmake
# The page's policy allows just this script and this style, by their hashes.
function(base64_of_sha256 variable text)
  set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  string(SHA256 hex "${text}")
  string(APPEND hex "00") # 32 bytes are ten threes and two
  set(digits "")
  foreach(at RANGE 0 60 6)
    string(SUBSTRING ${hex} ${at} 6 three)
    foreach(shift 18 12 6 0)
      math(EXPR digit "(0x${three} >> ${shift}) & 63")
      string(SUBSTRING ${alphabet} ${digit} 1 letter)
      string(APPEND digits "${letter}")
    endforeach()
  endforeach()
  string(REGEX REPLACE ".$" "=" digits "${digits}")
  set(${variable} "${digits}" PARENT_SCOPE)
endfunction()

# A C array NAME of the bytes of TEXT, and how many there are.
function(array_of variable name text)
  set(file ${OUT}.${name})
  file(WRITE ${file} "${text}")
  file(READ ${file} hex HEX)
  file(REMOVE ${file})
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  set(${variable} "const unsigned char ${name}[] = { ${bytes} };
const size_t ${name}_bytes = sizeof(${name});
" PARENT_SCOPE)
endfunction()

file(READ ${DIR}/page.html page)
file(READ ${DIR}/style.css style)
set(script "'use strict';\n")
string(REPLACE "," ";" names "${SCRIPTS}")
foreach(name ${names})
  file(READ ${DIR}/${name} text)
  string(APPEND script "\n${text}")
endforeach()
base64_of_sha256(style_hash "${style}")
base64_of_sha256(script_hash "${script}")
string(REPLACE "@STYLE_HASH@" "${style_hash}" page "${page}")
string(REPLACE "@SCRIPT_HASH@" "${script_hash}" page "${page}")
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
string(FIND "${page}" "@DATA@" at)
string(SUBSTRING "${page}" 0 ${at} head)
math(EXPR at "${at} + 6")
string(SUBSTRING "${page}" ${at} -1 tail)
array_of(head_array html_page_head "${head}")
array_of(tail_array html_page_tail "${tail}")
file(WRITE ${OUT} "// Made by cmake/html.cmake.
#include \"cli/html/html_assets.h\"

${head_array}
${tail_array}")
