// What any program in C++ costs to start.
#include <iostream>

int main() { std::cout << "nothing\n"; }
