"""Does a kernel run right, with neither launcher nor wrapper in the way?"""
